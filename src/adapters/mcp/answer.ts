/** What a tool answers: for programs, and the same as text for models that read nothing else. */
export function answer(fields: Record<string, unknown>) {
  return { structuredContent: fields, content: [{ type: 'text' as const, text: JSON.stringify(fields) }] }
}
