"""What releases decide, in their own arithmetic, where it is otherwise than their documents."""
