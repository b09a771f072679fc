"""
The strongest words of a class
==============================

A dozen short reviews: which words tell a perceptron that a review is good, and which that it is
bad?
"""

from sklearn.feature_extraction.text import CountVectorizer

from rosenblatt import Perceptron
from rosenblatt.viz import TopWordsDisplay

good = [
    "a wonderful film with a clever plot",
    "great fun and a charming cast",
    "moving, clever and beautifully played",
    "wonderful music, great pictures",
    "a charming story, never dull",
    "the best film of the year",
]
bad = [
    "a dull film, far too long",
    "boring plot and wooden dialogue",
    "the worst script of the year",
    "long, loud and boring",
    "a waste of a great cast",
    "dull jokes and a dull plot",
]
words = CountVectorizer(stop_words="english", token_pattern="[a-z]{3,}")
X = words.fit_transform(good + bad).astype(float)
labels = ["good"] * len(good) + ["bad"] * len(bad)
model = Perceptron(keep="average", random_state=0).fit(X, labels)
TopWordsDisplay.from_estimator(model, words.get_feature_names_out(), top=6)
