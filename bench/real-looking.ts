/** Text that looks like what people and agents write: a few words stand everywhere, most hardly ever, messages are short and now and then long. */

const COMMON = (
  'the to and a of in is it you that i for on with be this have are not we as can will if so but at from your or an was what do my all just ' +
  'no there about up one out would when like me get how more now some which they also should has could use here then need see file error run'
).split(' ')
const ONSETS = [
  '',
  'b',
  'br',
  'c',
  'ch',
  'd',
  'dr',
  'f',
  'g',
  'gr',
  'h',
  'j',
  'l',
  'm',
  'n',
  'p',
  'pl',
  'r',
  's',
  'st',
  't',
  'tr',
  'v',
  'w',
]
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ea', 'ou']
const CODAS = ['', '', 'n', 'r', 'l', 's', 't', 'm', 'ck', 'nd', 'st']

/** A generator of numbers from 0 up to 1, the same ones for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export class Prose {
  /** The most frequent first. */
  readonly words: readonly string[]
  readonly #random: () => number
  readonly #sums: Float64Array

  constructor(seed: number, vocabulary = 50_000) {
    this.#random = randomFrom(seed)
    const words = new Set(COMMON)
    const pick = (from: readonly string[]): string => from[Math.floor(this.#random() * from.length)] as string
    while (words.size < vocabulary) {
      let word = ''
      for (let syllables = 1 + Math.floor(this.#random() * 2.4); syllables > 0; syllables--)
        word += pick(ONSETS) + pick(VOWELS) + pick(CODAS)
      if (word.length > 2) words.add(word)
    }
    this.words = [...words]
    this.#sums = new Float64Array(vocabulary)
    let sum = 0
    for (let i = 0; i < vocabulary; i++) {
      sum += 1 / (i + 2.7) ** 1.05
      this.#sums[i] = sum
    }
  }

  /** A message of fifty words in the mean. */
  message(): string {
    const length = 8 + Math.floor(this.#random() * this.#random() * 160)
    const words: string[] = []
    for (let i = 0; i < length; i++) words.push(this.#word() + (this.#random() < 0.08 ? '.' : ''))
    return words.join(' ')
  }

  #word(): string {
    const target = this.#random() * (this.#sums.at(-1) as number)
    let [low, high] = [0, this.#sums.length - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#sums[middle] as number) < target) low = middle + 1
      else high = middle
    }
    return this.words[low] as string
  }
}
