"""How an implementation is judged: draw, ask, judge, reduce."""
