"""What the commands do, as functions: train, evaluate and predict from files.

Nothing here imports scikit-learn, so that a command starts quickly.
"""
