"""python -m training.report"""

from training.report.page import main

main()
