"""What autoclustering did: TensorFlow's log and graphs read, summarized, and held against each other. Pure."""
