/**
 * `holdfast/hooks/claude-code`: a hook of Claude Code and of its agent SDK that imports the transcript it is told of. Imports are safe to
 * repeat, so it may run after every turn: what is there already is left alone.
 */
import { HoldfastError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { importInto } from '../transfer/import/import.ts'
import { sourcesAt } from '../transfer/sources.ts'

export interface ClaudeCodeHookOptions {
  readonly store: Store
  /** Told of what could not be imported. An agent is never held up by it. */
  readonly onError?: (error: unknown) => void
}

/** For the events `Stop`, `SubagentStop`, `PreCompact` and `SessionEnd`. */
export function claudeCodeHook({ store, onError }: ClaudeCodeHookOptions): (input: unknown) => Promise<Record<string, never>> {
  return async (input) => {
    try {
      for await (const _ of importInto(store, sourcesAt(pathsIn(input)), { from: 'claude-code' })) {
        // Nobody wants to hear of each session here.
      }
    } catch (error) {
      onError?.(error)
    }
    return {}
  }
}

function pathsIn(input: unknown): string[] {
  const { transcript_path: main, agent_transcript_path: agent } = (input ?? {}) as Record<string, unknown>
  const paths = [main, agent].filter((path) => typeof path === 'string')
  if (paths.length === 0) throw new HoldfastError('INVALID_ARGUMENT', 'The input of the hook names no transcript_path.')
  return paths
}
