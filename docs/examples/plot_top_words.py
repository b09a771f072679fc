"""
The strongest words of a class
==============================

Sentences from the descriptions of two data sets in scikit-learn: which words tell a perceptron that
a sentence is about wine?
"""

from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.feature_extraction.text import CountVectorizer

from rosenblatt import Perceptron
from rosenblatt.viz import TopWordsDisplay

texts, labels = [], []
for name, load in [("cancer", load_breast_cancer), ("wine", load_wine)]:
    sentences = [line for line in load().DESCR.split("\n") if len(line.split()) > 3]
    texts += sentences
    labels += [name] * len(sentences)
words = CountVectorizer(stop_words="english", token_pattern="[a-z]{3,}")
X = words.fit_transform(texts).astype(float)
model = Perceptron(keep="average", random_state=0).fit(X, labels)
TopWordsDisplay.from_estimator(model, words.get_feature_names_out(), top=10)
