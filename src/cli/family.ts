/** `fork` and `tree`: sessions that come from others. */
import type { TreeNode } from '../store/family.ts'
import { damageField } from '../wire/damage.ts'
import { damageInTree, nodeFields } from '../wire/sessions.ts'
import { given } from './arguments.ts'
import type { Context } from './context.ts'
import { warnOfDamage } from './damage.ts'
import { inLine } from './terminal.ts'

export async function fork(context: Context, [id]: [string], { at, as }: { readonly at?: string; readonly as?: string }): Promise<void> {
  const session = (await context.write()).session(id)
  const created = await session.fork(given({ at, id: as }))
  const version = await created.version()
  await context.out.result({ session_id: created.id, version, parent: id }, () => inLine(created.id))
}

export async function tree(context: Context, [id]: [string]): Promise<void> {
  const session = (await context.read()).session(id)
  const draw = async (node: TreeNode, parent: string | null, trunk: string, last: boolean | undefined, depth: number): Promise<void> => {
    const { session_id, version, kind, title, status, message_id } = nodeFields(node)
    const fields = { session_id, version, parent, kind, title, status, message_id, depth, ...damageField(node.damage) }
    await context.out.result(fields, (colours) => {
      const branch = last === undefined ? '' : `${trunk}${last ? '└─ ' : '├─ '}`
      const facts = [...(kind === 'root' ? [] : [kind]), ...(status === 'ok' ? [] : [status])].join(', ')
      const name = title === null ? '' : `  ${inLine(title)}`
      return `${colours.dim(branch)}${inLine(session_id)}${name}${facts === '' ? '' : colours.dim(`  (${facts})`)}`
    })
    const below = last === undefined ? '' : `${trunk}${last ? '   ' : '│  '}`
    for (const [index, child] of node.children.entries()) {
      await draw(child, session_id, below, index === node.children.length - 1, depth + 1)
    }
  }
  const root = await session.tree()
  await draw(root, null, '', undefined, 0)
  warnOfDamage(context.out, id, damageInTree(root))
}
