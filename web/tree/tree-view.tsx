/** Where a session comes from and what came from it: forks and sub-agents, drawn; and two of them beside each other. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { hierarchy, tree } from 'd3-hierarchy'
import { Link, useSearchParams } from 'wouter'
import { sessionPath } from '../shell/format.ts'
import { messageOf } from '../shell/message-of.ts'
import { server } from '../shell/server.ts'
import { Compare } from './compare.tsx'
import { type TreeNode, type TreePage, wholeTree, withNextPage } from './whole-tree.ts'
import '../style/tree.css'

const [ROW_PX, COLUMN_PX, NODE_PX] = [46, 250, 210]

export function TreeView({ id }: { readonly id: string }) {
  const [params, setParams] = useSearchParams()
  const { data, error } = useQuery({ queryKey: ['session', id, 'tree'], queryFn: () => wholeTree(server, id) })
  const other = params.get('with')
  if (error !== null) {
    return (
      <p className="problem page" role="alert">
        {messageOf(error)}
      </p>
    )
  }
  if (data === undefined) return <p className="dim waiting">Loading…</p>
  if (other !== null) return <Compare left={id} right={other} onClose={() => setParams({})} />
  return (
    <div className="page tree-page">
      {data.children.length === 0 ? (
        <p className="dim">
          Nothing was forked from this session, and it has no sub-agents. Any message in the transcript can be forked from.
        </p>
      ) : (
        <p className="dim">Choose one to go there; compare it with this one from where they part.</p>
      )}
      <Drawing root={data} current={id} onCompare={(session) => setParams({ with: session })} />
      {data.cursor !== null && <More id={id} tree={data} />}
    </div>
  )
}

/** Loads the next page of a tree that is larger than one. */
function More({ id, tree }: { readonly id: string; readonly tree: TreePage }) {
  const queries = useQueryClient()
  const { mutate, isPending, error } = useMutation({
    mutationFn: () => withNextPage(server, tree),
    onSuccess: (grown) => queries.setQueryData(['session', id, 'tree'], grown),
  })
  return (
    <p>
      <button type="button" disabled={isPending} onClick={() => mutate()}>
        Show more sessions
      </button>
      {error !== null && (
        <span className="problem" role="alert">
          {messageOf(error)}
        </span>
      )}
    </p>
  )
}

interface DrawingProps {
  readonly root: TreeNode
  readonly current: string
  readonly onCompare: (session: string) => void
}

function Drawing({ root, current, onCompare }: DrawingProps) {
  const laid = tree<TreeNode>()
    .nodeSize([ROW_PX, COLUMN_PX])
    .separation(() => 1)(hierarchy(root, ({ children }) => children))
  const nodes = laid.descendants()
  const top = Math.min(...nodes.map(({ x }) => x))
  const [width, height] = [(laid.height + 1) * COLUMN_PX, Math.max(...nodes.map(({ x }) => x)) - top + ROW_PX]
  return (
    <div className="tree" tabIndex={0} role="group" aria-label="Forks and sub-agents">
      <div style={{ width, height, position: 'relative' }}>
        <svg width={width} height={height} aria-hidden="true">
          {laid.links().map(({ source, target }) => {
            const [x1, y1, x2, y2] = [source.y + NODE_PX, source.x - top + ROW_PX / 2, target.y, target.x - top + ROW_PX / 2]
            const middle = (x1 + x2) / 2
            return (
              <path key={target.data.session} className={target.data.kind} d={`M${x1},${y1}C${middle},${y1} ${middle},${y2} ${x2},${y2}`} />
            )
          })}
        </svg>
        {nodes.map(({ x, y, data }) => (
          <div
            key={data.session}
            className={`tree-node${data.session === current ? ' current' : ''}`}
            style={{ transform: `translate(${y}px, ${x - top}px)`, width: NODE_PX }}
          >
            <Link href={sessionPath(data.session, 'tree')} aria-current={data.session === current ? 'true' : undefined} dir="auto">
              {data.title ?? data.session}
            </Link>
            <span className="dim">
              {data.kind === 'root' ? 'beginning' : data.kind === 'fork' ? 'fork' : 'sub-agent'}
              {data.status !== 'ok' && ` · ${data.status}`}
              {data.session !== current && (
                <button type="button" className="quiet" onClick={() => onCompare(data.session)}>
                  compare
                </button>
              )}
            </span>
          </div>
        ))}
      </div>
    </div>
  )
}
