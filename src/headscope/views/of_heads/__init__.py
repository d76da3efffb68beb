"""What views of many heads share: the plane they stand in, their names, the texts behind them."""
