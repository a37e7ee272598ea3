/** What goes wrong while a page is drawn stays there, and is told. */
import { Component, type ReactNode } from 'react'
import { messageOf } from './message-of.ts'

export class Boundary extends Component<{ readonly children: ReactNode }, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <main id="main" className="page">
        <h1>This page could not be shown</h1>
        <p role="alert">{messageOf(error)}</p>
        <p>
          <button type="button" onClick={() => location.reload()}>
            Load it again
          </button>
        </p>
      </main>
    )
  }
}
