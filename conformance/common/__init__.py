"""What all subjects share: questions and answers, operations, checks, and expectations."""
