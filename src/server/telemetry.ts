/** A span for each request, by OpenTelemetry's names. Without an SDK in the process nothing comes of it, and it costs nearly nothing. */
import { context, ProxyTracerProvider, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

const NAMES = {
  method: 'http.request.method',
  route: 'http.route',
  status: 'http.response.status_code',
  errorType: 'error.type',
  conversation: 'gen_ai.conversation.id',
  requestId: 'holdfast.request_id',
} as const

export interface Traced {
  readonly method: string
  readonly route: string
  readonly requestId: string
  /** A header of the request, which may name the span that this one belongs to. */
  readonly header: (name: string) => string | undefined
}

/** Runs work inside a span, if anybody in the process has brought what takes them. */
export function traced<T>({ method, route, requestId, header }: Traced, work: (span: Span | undefined) => Promise<T>): Promise<T> {
  const provider = trace.getTracerProvider()
  if (provider instanceof ProxyTracerProvider && provider.getDelegate().constructor.name === 'NoopTracerProvider') return work(undefined)
  const carrier = header('traceparent') === undefined ? {} : { traceparent: header('traceparent'), tracestate: header('tracestate') }
  const parent = propagation.extract(context.active(), carrier)
  const span = provider.getTracer('holdfast').startSpan(`${method} ${route}`, { kind: SpanKind.SERVER }, parent)
  if (!span.isRecording()) return work(span)
  span.setAttributes({ [NAMES.method]: method, [NAMES.route]: route, [NAMES.requestId]: requestId })
  return context.with(trace.setSpan(parent, span), () => work(span).finally(() => span.end()))
}

export function tellSpan(span: Span | undefined, { status, session }: { readonly status: number; readonly session: string | null }): void {
  if (span?.isRecording() !== true) return
  span.setAttribute(NAMES.status, status)
  if (session !== null) span.setAttribute(NAMES.conversation, session)
  if (status < 500) return
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute(NAMES.errorType, String(status))
}
