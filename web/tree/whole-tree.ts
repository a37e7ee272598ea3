import type { RemoteSession, RemoteStore } from 'holdfast/client'

export type TreePage = Awaited<ReturnType<RemoteSession['tree']>>
export type TreeNode = TreePage['children'][number]
type Server = { readonly session: (id: string) => Pick<ReturnType<RemoteStore['session']>, 'info' | 'tree'> }

/** Ancestors that are looked for, at most. */
const GENERATIONS = 50

/** The tree of a session from its first ancestor on: the first page of it. A parent that no longer exists leaves its children where they are. */
export async function wholeTree(server: Server, id: string): Promise<TreePage> {
  let root = id
  for (let i = 0; i < GENERATIONS; i++) {
    const { parent } = await server.session(root).info()
    if (parent === null || !(await exists(server, parent.session))) break
    root = parent.session
  }
  return server.session(root).tree()
}

/** The same tree with its next page. */
export async function withNextPage(server: Server, tree: TreePage): Promise<TreePage> {
  const page = await server.session(tree.session).tree({ cursor: tree.cursor })
  return { ...joined(tree, page), cursor: page.cursor }
}

/** Adds the sessions of a page below the session at which it continues. */
function joined<N extends TreeNode>(node: N, page: TreeNode): N {
  if (node.session === page.session) return { ...node, children: [...node.children, ...page.children] }
  return { ...node, children: node.children.map((child) => joined(child, page)) }
}

async function exists(server: Server, id: string): Promise<boolean> {
  try {
    await server.session(id).info()
    return true
  } catch {
    return false
  }
}
