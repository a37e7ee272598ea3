/** What a session is called, how it is, how much there is of it; and what can be done with it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { Badges } from '../sessions/session-row.tsx'
import type { SessionInfo } from '../sessions/sessions-view-model.ts'
import { useMayWrite } from '../shell/caller.ts'
import { counted, full, sessionPath } from '../shell/format.ts'
import { Icon } from '../shell/icon.tsx'
import { useShortcuts } from '../shell/keyboard.ts'
import { attempt, copy } from '../shell/notices.tsx'
import { server } from '../shell/server.ts'
import { ActionsMenu } from './actions-menu.tsx'
import { DamageBanner, useDamage, useNewestDamage } from './damage-banner.tsx'
import { Tasks } from './tasks.tsx'

export function SessionHeader({ id, info }: { readonly id: string; readonly info: SessionInfo | undefined }) {
  const name = info?.title ?? id
  useEffect(() => {
    document.title = `${name} · Holdfast`
    return () => {
      document.title = 'Holdfast'
    }
  }, [name])
  return (
    <header className="session-header">
      <div className="session-title">
        <Link href="/" className="button quiet-link" aria-label="All sessions" title="All sessions">
          <Icon name="back" />
        </Link>
        <Title key={info?.title} id={id} title={info?.title ?? null} />
        {info !== undefined && <Badges info={info} mark={undefined} nowMs={Date.now()} />}
        <ActionsMenu id={id} info={info} />
      </div>
      <div className="session-facts dim">
        <button type="button" className="quiet mono id" title="Copy the id" onClick={() => void copy(id)}>
          {id}
        </button>
        {info !== undefined && (
          <>
            <span title={`${full(info.messageCount)} live, ${full(info.totalMessageCount - info.messageCount)} archived`}>
              {counted(info.totalMessageCount, 'message')}
            </span>
            <span>{counted(info.totalTokens, 'token')}</span>
            {info.commitCount > 0 && <span>{counted(info.commitCount, 'archive')}</span>}
            {info.owner !== null && <span>{info.owner}</span>}
            {info.workspace !== null && <span className="mono">{info.workspace}</span>}
            {info.parent !== null && (
              <Link href={sessionPath(info.parent.session)}>{info.parent.kind === 'fork' ? 'fork of' : 'sub-agent of'} another</Link>
            )}
            <Models id={id} />
            <Tags id={id} tags={info.tags} />
          </>
        )}
      </div>
      <Damage id={id} info={info} />
      <Tasks id={id} />
    </header>
  )
}

function Title({ id, title }: { readonly id: string; readonly title: string | null }) {
  const mayWrite = useMayWrite()
  const queries = useQueryClient()
  const [draft, setDraft] = useState<string>()
  useShortcuts('Session', [{ keys: 'e', about: 'Rename', run: () => mayWrite && setDraft(title ?? '') }])
  if (draft === undefined) {
    return (
      <h1 dir="auto">
        {mayWrite ? (
          <button type="button" className="plain" title="Rename (e)" onClick={() => setDraft(title ?? '')}>
            {title ?? id}
          </button>
        ) : (
          (title ?? id)
        )}
      </h1>
    )
  }
  const save = async (): Promise<void> => {
    setDraft(undefined)
    const next = draft.trim() === '' ? null : draft.trim()
    if (next === title) return
    const rename = (to: string | null) => async (): Promise<void> => {
      await server.session(id).describe({ title: to })
      await queries.invalidateQueries({ queryKey: ['session', id] })
    }
    await attempt(rename(next), 'Renamed.', rename(title))
  }
  return (
    <form
      className="rename"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <input
        autoFocus
        aria-label="Title"
        value={draft}
        onChange={(event) => setDraft(event.target.value)}
        onBlur={() => setDraft(undefined)}
        onKeyDown={(event) => event.key === 'Escape' && setDraft(undefined)}
      />
    </form>
  )
}

function Tags({ id, tags }: { readonly id: string; readonly tags: readonly string[] }) {
  const mayWrite = useMayWrite()
  const queries = useQueryClient()
  const [draft, setDraft] = useState<string>()
  const change = (patch: { addTags?: readonly string[]; removeTags?: readonly string[] }) => async (): Promise<void> => {
    await server.session(id).describe(patch)
    await queries.invalidateQueries({ queryKey: ['session', id] })
  }
  const add = (): void => {
    const added = (draft ?? '').split(/[\s,]+/).filter((word) => word !== '')
    setDraft(undefined)
    if (added.length > 0) void attempt(change({ addTags: added }), 'Tagged.', change({ removeTags: added }))
  }
  return (
    <span className="tags">
      {tags.map((tag) => (
        <span key={tag} className="tag">
          <Link href={`/?tag=${encodeURIComponent(tag)}`}>{tag}</Link>
          {mayWrite && (
            <button
              type="button"
              aria-label={`Take away the tag ${tag}`}
              onClick={() => void attempt(change({ removeTags: [tag] }), `No longer tagged ${tag}.`, change({ addTags: [tag] }))}
            >
              ×
            </button>
          )}
        </span>
      ))}
      {mayWrite && draft === undefined && (
        <button type="button" className="quiet" onClick={() => setDraft('')}>
          + tag
        </button>
      )}
      {draft !== undefined && (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            add()
          }}
        >
          <input
            autoFocus
            aria-label="New tag"
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onBlur={add}
            onKeyDown={(event) => event.key === 'Escape' && setDraft(undefined)}
          />
        </form>
      )}
    </span>
  )
}

function Models({ id }: { readonly id: string }) {
  const { data = [] } = useQuery({ queryKey: ['session', id, 'usage'], queryFn: async () => server.session(id).usage() })
  return data.map(({ model, calls, inputTokens, outputTokens }) => (
    <span key={model} title={`${counted(calls, 'call')}: ${full(inputTokens)} tokens in, ${full(outputTokens)} out`}>
      {model}
    </span>
  ))
}

/** A session is read as a whole only if it is known to be damaged; an accepted gap is known from the newest page. */
function Damage({ id, info }: { readonly id: string; readonly info: SessionInfo | undefined }) {
  const { data: places } = useDamage(id, info?.status === 'damaged')
  const { data: accepted = [] } = useNewestDamage(id, info?.status === 'ok')
  if (info?.status === 'damaged') return places === undefined ? null : <DamageBanner id={id} places={places} />
  return info?.status === 'ok' && accepted.length > 0 ? <DamageBanner id={id} places={accepted} /> : null
}
