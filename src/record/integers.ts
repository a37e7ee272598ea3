/** An integer in a JSON text that a reader would round. Texts are skipped: digits inside them are no numbers. */
export function roundedInteger(json: string): string | undefined {
  if (!/\d{16}/.test(json)) return undefined
  for (const [token, integer] of json.matchAll(/"(?:[^"\\]|\\.)*"|-?(\d+)(?![\d.eE])|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g)) {
    if (integer !== undefined && !Number.isSafeInteger(Number(token))) return token
  }
  return undefined
}
