"""The rule-based extractor's grammar: sentences, dates, clauses, statements."""
