"""What an audit found as one page of HTML that needs no network."""
