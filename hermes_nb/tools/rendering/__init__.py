"""From a value to the text and pictures a model is sent."""
