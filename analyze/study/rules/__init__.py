"""What is concluded from a study's tables: one question per file, tables in, sentences out, all pure."""
