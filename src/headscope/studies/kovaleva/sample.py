"""A few sentence pairs of our own, so that the short version of the study runs without data."""

from __future__ import annotations

PAIRS = (
    ("The old bridge was closed after the storm.", "Nobody could cross the river on Monday."),
    ("She put the letter in the drawer and locked it.", "The letter was not on the table."),
    ("A farmer sold three sheep at the market.", "The market was full of animals."),
    ("The committee did not accept the proposal.", "Its members had never seen such a plan."),
    ("He gave his sister a map of the city.", "She used it to find the museum."),
    ("The children were playing in the garden.", "Rain did not stop their game."),
    ("Our train left the station two hours late.", "We missed the beginning of the concert."),
    ("The doctor examined the patient carefully.", "Nothing serious was found."),
    ("The company opened a new factory in the north.", "It will make parts for aircraft."),
    ("They painted the kitchen walls green.", "The kitchen looked brighter than before."),
    ("The river rises in the mountains and flows west.", "It reaches the sea near the capital."),
    ("A young writer won the prize this year.", "Her first novel was about a lighthouse."),
    ("The teacher asked the pupils to read aloud.", "One of them refused to read."),
    ("Snow covered the fields for a month.", "The wheat was late that spring."),
    ("The captain ordered the crew to wait.", "They waited until the fog had gone."),
    ("I went to the store.", "At the store, I bought fresh strawberries."),
    ("The film was long, dull and badly acted.", "Few people stayed until the end."),
    ("The library keeps letters of two kings.", "Scholars may read them on request."),
    ("Her brother repaired the clock himself.", "It has kept good time ever since."),
    ("The town council will build a school.", "The school will stand beside the park."),
)
