/** What a hostile key asks for, each as much as it can. */
import { postRequest } from './http-load.ts'
import { TEXT } from './session.ts'

const SESSIONS = 200
const LARGE = 'x'.repeat(4 * 1024 * 1024)

export const HOSTILITIES = [
  'appends',
  'large appends',
  'pages of 1,000 messages',
  'lists of 1,000',
  'searches',
  'exports of the space',
  'imports',
  'unknown keys',
  'unknown routes',
] as const
export type Hostility = (typeof HOSTILITIES)[number]

/** The next request, as it goes over the connection. */
export function hostileRequest(hostility: Hostility, key: string, count: number): string {
  const headers = { 'x-api-key': key }
  const session = `s${count % SESSIONS}`
  const message = (content: string): string => JSON.stringify({ role: 'user', content })
  switch (hostility) {
    case 'appends':
      return postRequest(`/api/v1/sessions/${session}/messages`, message(TEXT), headers)
    case 'large appends':
      return postRequest(`/api/v1/sessions/${session}/messages`, message(LARGE), headers)
    case 'pages of 1,000 messages':
      return getRequest('/api/v1/sessions/long/messages?limit=1000', headers)
    case 'lists of 1,000':
      return getRequest('/api/v1/sessions?limit=1000', headers)
    case 'searches':
      return getRequest('/api/v1/search?q=word1*%20session*&limit=100', headers)
    case 'exports of the space':
      return getRequest('/api/v1/export?format=markdown&redact=true', headers)
    case 'imports':
      return postRequest('/api/v1/import?name=chat.jsonl&from=openai&dry_run=true', importBody(), {
        ...headers,
        'content-type': 'application/octet-stream',
      })
    case 'unknown keys':
      return getRequest('/api/v1/sessions', { 'x-api-key': `hf_unknown_${count}` })
    case 'unknown routes':
      return getRequest('/api/v1/nothing/here', headers)
  }
}

function getRequest(path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ host: 'localhost', ...headers })
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

let imported: string | undefined

function importBody(): string {
  imported ??= Array.from({ length: 2000 }, (_, i) => JSON.stringify({ messages: [{ role: 'user', content: `line ${i} ${TEXT}` }] })).join(
    '\n',
  )
  return imported
}
