import { describe, expect, test } from 'vitest'
import type { DraftMemory } from '../model.ts'
import { extractive } from './extractive.ts'

async function memories(...texts: string[]): Promise<readonly DraftMemory[]> {
  const messages = texts.map((text, index) => ({ id: `m${index}`, role: 'user', text, extract: true }))
  return (await extractive.summarise({ previous: null, messages, signal: new AbortController().signal })).memories
}

async function keys(...texts: string[]): Promise<string[]> {
  return (await memories(...texts)).map(({ key, text }) => (text === undefined ? `- ${key}` : key))
}

describe('what is remembered', () => {
  test.each([
    ['My name is Anna.', 'profile: name'],
    ["Hi, my name's Anna Schmidt!", 'profile: name'],
    ['Please call me Bob.', 'profile: nickname'],
    ['By the way, I live in Berlin.', 'profile: location'],
    ['I’m from Norway', 'profile: origin'],
    ['I work at Siemens.', 'profile: employer'],
    ["I'm a senior backend developer.", 'profile: occupation'],
    ['My birthday is on May 4th.', 'profile: birthday'],
    ["I'm allergic to peanuts.", 'profile: allergy to peanuts'],
    ['I prefer dark mode.', 'preference: dark mode'],
    ["I really don't like cilantro.", 'preference: cilantro'],
    ['My favourite colour is green.', 'preference: favourite colour'],
    ['I usually use vim.', 'preference: vim'],
    ['Always write the tests first.', 'instruction: write the tests first'],
    ['Never use semicolons in TypeScript.', 'instruction: semicolons in typescript'],
    ['From now on, answer in German please.', 'instruction: language of answers'],
    ['Remember that the deploy key is in the vault.', 'fact: deploy key'],
    ['我叫李雷。', 'profile: name'],
    ['请叫我小李', 'profile: nickname'],
    ['我住在上海。', 'profile: location'],
    ['我喜欢绿茶。', 'preference: 绿茶'],
    ['我不喜歡香菜', 'preference: 香菜'],
    ['请记住部署密钥在保险库里。', 'fact: 部署密钥'],
    ['以后请用中文回答。', 'instruction: language of answers'],
    ['私の名前は田中です。', 'profile: name'],
    ['私は緑茶が好きです。', 'preference: 緑茶'],
    ['必ず日本語で答えてください。', 'instruction: language of answers'],
    ['제 이름은 김민수입니다.', 'profile: name'],
    ['저는 커피를 좋아해요.', 'preference: 커피'],
    ['항상 한국어로 답변해 주세요.', 'instruction: language of answers'],
  ])('%s -> %s', async (text, key) => {
    expect(await keys(text)).toEqual([key])
  })
})

describe('what is not', () => {
  test.each([
    'I like it!',
    'I like the second option.',
    'I love this approach.',
    'I would like to see the logs.',
    'I prefer that one.',
    'Never mind.',
    'Call me when it is done.',
    'Call me back tomorrow.',
    'Do you remember that my name is Anna?',
    'My name is not Bob.',
    'Remember when we talked about caching?',
    'What is my name?',
    'The user said my name is Carl.',
    'If I prefer tea, what then?',
    'I always get this error.',
    'Forget it.',
    'Forget that.',
    '```\nconst text = "x"\nmy name is code\n```',
    '我喜欢这个方案。',
    '你叫什么名字？',
    '我叫他来。',
    'この案が好きです。',
    '그거 좋아요.',
  ])('%s', async (text) => {
    expect(await memories(text)).toEqual([])
  })

  test('what the assistant, a tool or a message that was extracted before says', async () => {
    const text = 'My name is Anna.'
    const messages = [
      { id: 'a', role: 'assistant', text, extract: true },
      { id: 'b', role: 'tool', text, extract: true },
      { id: 'c', role: 'system', text, extract: true },
      { id: 'd', role: 'user', text, extract: false },
      { id: 'e', role: 'user', text: `Look.\n[result c1 x\n${text}]`, extract: true },
    ]
    expect((await extractive.summarise({ previous: null, messages, signal: new AbortController().signal })).memories).toEqual([])
  })
})

test('the same topic later replaces what was said, with the message that said it', async () => {
  expect(await memories('I prefer tea over coffee.', 'Hm. I prefer coffee to tea.')).toEqual([
    { key: 'preference: coffee / tea', category: 'preference', text: 'I prefer coffee to tea', sources: ['m1'] },
  ])
  expect(await keys('Always use tabs.', 'Never use tabs.')).toEqual(['instruction: tabs'])
})

test('a retraction has the key of what it takes back, and no text', async () => {
  expect(await keys('I no longer live in Berlin.')).toEqual(['- profile: location'])
  expect(await keys("I don't like tea anymore.")).toEqual(['- preference: tea'])
  expect(await keys('Forget that my name is Anna.')).toEqual(['- profile: name'])
  expect(await keys('Please forget my birthday.')).toEqual(['- profile: birthday'])
  expect(await keys('Forget that the deploy key is in the vault.')).toEqual(['- fact: deploy key'])
  expect(await keys('我不再喜欢绿茶。')).toEqual(['- preference: 绿茶'])
  expect(await keys('I like tea.', 'I no longer like tea.')).toEqual(['- preference: tea'])
})

test('one sentence can tell several things', async () => {
  expect(await memories('Hello, my name is Anna and I live in Berlin, but I prefer to work in English.')).toEqual([
    { key: 'profile: name', category: 'profile', text: 'my name is Anna', sources: ['m0'] },
    { key: 'profile: location', category: 'profile', text: 'I live in Berlin', sources: ['m0'] },
    { key: 'preference: work in english', category: 'preference', text: 'I prefer to work in English', sources: ['m0'] },
  ])
})
