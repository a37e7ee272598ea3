/** A table that scrolls by itself where it is wider than the page, also by keys. */
import type { ReactNode } from 'react'

interface TableProps {
  readonly label: string
  readonly heads?: readonly string[]
  /** The rows. */
  readonly children: ReactNode
}

export function Table({ label, heads, children }: TableProps) {
  return (
    <div className="table" tabIndex={0} role="group" aria-label={label}>
      <table>
        {heads !== undefined && (
          <thead>
            <tr>
              {heads.map((head) => (
                <th key={head}>{head}</th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>{children}</tbody>
      </table>
    </div>
  )
}
