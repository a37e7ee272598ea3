/** What only somebody who has opened the store himself can do: looking at its bytes, and importing. */

import { doctor } from '../../src/doctor/doctor.ts'
import type { Importer } from '../../src/formats/item.ts'
import type { StoreApi } from '../../src/store/api/store-api.ts'
import type { Store } from '../../src/store/store.ts'
import { bytesSource } from '../../src/transfer/bytes.ts'
import { importInto } from '../../src/transfer/import/import.ts'
import type { Answer, Found, Wish } from './history.ts'
import { tagOf } from './sessions.ts'

export interface Opened {
  readonly local: Store | undefined
  /** The store, or one of the servers on it. */
  readonly any: () => StoreApi
}

export async function doctorOf({ local }: Opened): Promise<Answer> {
  return { told: 'ok', damage: local === undefined ? [] : await damageIn(local) }
}

export async function damageIn(store: Store): Promise<Found[]> {
  const damage: Found[] = []
  for await (const { severity, kind, session, segment, offset } of doctor(store)) {
    if (severity === 'damage') damage.push({ session: session ?? '', what: `${kind} at ${segment}+${offset}` })
  }
  return damage
}

/** A session for each file, named as it is; a message for each line. */
const lines: Importer = {
  name: 'torture',
  recognises: ({ name }) => name.startsWith('imported-'),
  read: async function* (source) {
    yield { kind: 'session', session: source.name, description: {} }
    let text = ''
    for (const file of source.files) for await (const bytes of file.read()) text += Buffer.from(bytes).toString()
    for (const content of text.split('\n')) {
      yield { kind: 'message', session: source.name, id: tagOf({ content }), message: { role: 'user', content } }
    }
  },
}

export async function importWish({ local }: Opened, { session, tags }: Extract<Wish, { kind: 'import' }>): Promise<Answer> {
  if (local === undefined) throw new TypeError('An importer opens the store itself.')
  const source = bytesSource(session, Buffer.from(tags.join('\n')))
  for await (const _ of importInto(local, [source], { importers: [lines] }));
  return { told: 'ok' }
}
