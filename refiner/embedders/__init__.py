"""Where vectors come from: the packaged small model, or any endpoint that speaks OpenAI's embeddings protocol."""
