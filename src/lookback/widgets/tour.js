// @ts-check
// Eight stops through the opened Transformer: what is there, something to do,
// and what the reader then sees.

/** @typedef {{station: string, head: number, source: number, target: number}} Here */
/** @typedef {{title: string, text: string, ask: string, answer: string,
 *   go: Record<string, string | number>, done: (here: Here) => boolean}} Stop */

/** @type {Stop[]} */
export const tour = [
  {
    title: "tokens become vectors",
    text: "The sentence is cut into tokens, most of them whole words. Each token fetches its row of the embedding matrix: 128 learned numbers. In the picture every token is a column.",
    ask: "Choose the third token of the encoder.",
    answer:
      "Its column is framed at every station of the encoder. You can follow this one token through the whole stack.",
    go: { source: 2, station: "encoder.embedding", layer: 0 },
    done: ({ source, station }) => source === 2 && station.startsWith("encoder"),
  },
  {
    title: "positions",
    text: "Attention takes its input as a set. So a vector of sines and cosines, different at each position, is added to every embedding.",
    ask: "Step on to “+ position” in the encoder.",
    answer:
      "The lines below show what was added to the first two numbers: sin and cos of the position. The other numbers get slower waves.",
    go: { source: 2, station: "encoder.stream", layer: 0 },
    done: ({ station }) => station === "encoder.stream",
  },
  {
    title: "queries, keys, values",
    text: "Three matrices make three vectors of each normalized column: a query (what it asks for), a key (what it is found by) and a value (what it hands over). Each is cut into four heads of 32 numbers.",
    ask: "Open the queries of the encoder’s first layer.",
    answer:
      "Below are the 32 numbers of one head. Keys and values stand beside the queries in the picture.",
    go: { source: 2, station: "encoder.0.attention.q", layer: 0 },
    done: ({ station }) => /^encoder\.\d\.attention\.q$/.test(station),
  },
  {
    title: "scores and weights",
    text: "The query is compared with every key by a dot product, divided by √32. Softmax turns these scores into weights that sum to 1. Each head has weights of its own.",
    ask: "Open the weights of head 3.",
    answer: "Ribbons lead from the values to the head’s output. Each is as wide as its weight.",
    go: { source: 2, station: "encoder.0.attention.weights", layer: 0, head: 2 },
    done: ({ station, head }) =>
      station.startsWith("encoder") && station.endsWith("weights") && head === 2,
  },
  {
    title: "back into the stream",
    text: "The four outputs are concatenated, multiplied by W_O, and added to the column they came from. What runs from sum to sum is called the residual stream.",
    ask: "Open the residual stream after self-attention.",
    answer: "The second line below compares lengths: how much the sublayer changed this column.",
    go: { source: 2, station: "encoder.0.attention.stream", layer: 0 },
    done: ({ station }) => /^encoder\.\d\.attention\.stream$/.test(station),
  },
  {
    title: "feed-forward",
    text: "Then each column passes, on its own, through two matrices with max(0, ·) between them.",
    ask: "Open the hidden layer of the encoder’s feed-forward network.",
    answer: "Of 512 hidden units most are 0 here. Only those above 0 add something to the stream.",
    go: { source: 2, station: "encoder.0.feedforward.hidden", layer: 0 },
    done: ({ station }) => /^encoder\.\d\.feedforward\.hidden$/.test(station),
  },
  {
    title: "cross-attention",
    text: "The decoder has the words that are written so far. Its queries meet keys and values made of the encoder’s output: here the translation reads the sentence.",
    ask: "In the decoder’s last layer, open the weights of cross-attention and choose the token after <start>.",
    answer:
      "That column is about to write the second French word. The ribbons show which English tokens it attends to; try all four heads.",
    go: { target: 1, station: "decoder.3.cross.weights", layer: 3, head: 0 },
    done: ({ station, target }) => station === "decoder.3.cross.weights" && target === 1,
  },
  {
    title: "a word is chosen",
    text: "After the last layer a column is compared with all 6,000 rows of the embedding matrix. These are the logits; softmax makes probabilities of them. The likeliest piece is written, and becomes the next column.",
    ask: "Open the probabilities.",
    answer: "That is the whole way from text to word. Now switch something off.",
    go: { target: 1, station: "decoder.probabilities", layer: 3 },
    done: ({ station }) => station === "decoder.probabilities",
  },
];
