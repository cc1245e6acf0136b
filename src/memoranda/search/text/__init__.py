"""Text analysis: tokens, stems and chunks."""
