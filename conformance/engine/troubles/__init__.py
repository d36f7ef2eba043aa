"""What goes wrong beside the content of answers: no answer at all, and answers that depend on what
was asked before."""
