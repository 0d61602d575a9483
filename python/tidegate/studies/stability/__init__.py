"""Is the analysis right about which queues swing? Its verdict beside simulations."""
