"""Problems whose answers are computed, so that a verdict rests on nobody's word."""
