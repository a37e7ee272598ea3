/** `fork` and `tree`: sessions that come from others. */

import { withoutUndefined } from '../server/without-undefined.ts'
import type { DamagedPlace } from '../store/damage/damage.ts'
import type { TreeNode, TreePage } from '../store/tree.ts'
import { damageInTree, nodeCodec } from '../wire/sessions.ts'
import type { Context } from './context.ts'
import { warnOfDamage } from './damage.ts'
import type { Output } from './output.ts'
import { inLine } from './terminal.ts'

export async function fork(context: Context, [id]: [string], { at, as }: { readonly at?: string; readonly as?: string }): Promise<void> {
  const session = (await context.write()).session(id)
  const created = await session.fork(withoutUndefined({ at, id: as }))
  const version = await created.version()
  await context.out.result({ session_id: created.id, version, parent: id }, () => inLine(created.id))
}

/** Draws each page as it comes. */
export async function tree(context: Context, [id]: [string]): Promise<void> {
  const { out, signal } = context
  const session = (await context.read()).session(id)
  const damage: DamagedPlace[] = []
  const drawing = new Drawing(out)
  for (let cursor: string | null | undefined; cursor !== null && !signal.aborted; ) {
    const page: TreePage = await session.tree({ cursor })
    damage.push(...damageInTree(page))
    await drawing.add(page)
    cursor = page.cursor
  }
  warnOfDamage(out, id, damage)
}

/** Where a session is in the drawing: how deep, and what is drawn before those that come from it. */
interface Drawn {
  readonly depth: number
  readonly trunk: string
}

class Drawing {
  readonly #out: Output
  /** Sessions whose children may continue on a later page. */
  #open = new Map<string, Drawn>()

  constructor(out: Output) {
    this.#out = out
  }

  async add(page: TreePage): Promise<void> {
    const isMore = page.cursor !== null
    const at = this.#open.get(page.session)
    if (page.continued !== true) await this.#draw(page, null, { branch: '', below: '', depth: 0 }, isMore)
    else if (at !== undefined) await this.#drawChildren(page, at, isMore)
  }

  /** `isOpen`: the next page may continue here. */
  async #draw(
    node: TreeNode,
    parent: string | null,
    place: { branch: string; below: string; depth: number },
    isOpen: boolean,
  ): Promise<void> {
    const { session_id, version, kind, title, status, message_id, damage } = nodeCodec.encode(node)
    const fields = { session_id, version, parent, kind, title, status, message_id, depth: place.depth, damage }
    await this.#out.result(fields, (colours) => {
      const facts = [...(kind === 'root' ? [] : [kind]), ...(status === 'ok' ? [] : [status])].join(', ')
      const name = title === null ? '' : `  ${inLine(title)}`
      return `${colours.dim(place.branch)}${inLine(session_id)}${name}${facts === '' ? '' : colours.dim(`  (${facts})`)}`
    })
    const drawn = { depth: place.depth, trunk: place.below }
    if (isOpen) this.#open.set(session_id, drawn)
    await this.#drawChildren(node, drawn, isOpen)
  }

  /** Only the last child of each can continue on a later page. Whether it is the last of all is not known then. */
  async #drawChildren({ session, children }: TreeNode, { depth, trunk }: Drawn, isOpen: boolean): Promise<void> {
    for (const [index, child] of children.entries()) {
      const isLast = index === children.length - 1
      const isEnd = isLast && !isOpen
      const place = { branch: `${trunk}${isEnd ? '└─ ' : '├─ '}`, below: `${trunk}${isEnd ? '   ' : '│  '}`, depth: depth + 1 }
      await this.#draw(child, session, place, isLast && isOpen)
    }
  }
}
