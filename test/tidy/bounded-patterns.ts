/**
 * Regular expressions that a checker finds slow, or cannot judge, with the reason why that does no harm: what bounds the text, or why it is linear.
 * A pattern that meets a text of any length does not belong here.
 */
const SENTENCE = 'A sentence of at most 600 characters (`digest.ts`).'
const CONFIGURED = 'Written by the operator: an address or a path.'
const NAMED = 'The name of a file: at most 2,048 characters (`budget.ts`), or what the file system allows.'

export const BOUNDED: Readonly<Record<string, string>> = {
  '/\\/+$/': CONFIGURED,
  '/[/\\\\]+$/': `${CONFIGURED} ${NAMED}`,
  '/(?:Error|Exception|Fatal|FAIL(?:ED)?|Panic): |Traceback \\(|^\\[error |\\bexit(?:ed with)? (?:code|status) [1-9]|^(?:fatal|panic|error)(?:\\[\\w+\\])?: /':
    SENTENCE,
  '/\\b(?:no|not|0|zero|without|any|if|never)\\s(?:\\w+\\s)?(?:errors?|exceptions?|failures?|fail(?:ed|s|ing)?|broken)\\b|没有(?:错误|异常|失败)|エラー(?:は|が)?(?:な|あり)|如果|場合|もし|만약/i':
    SENTENCE,
  '/^(?:(?:hi|hello|hey|ok|okay|oh|well|so|and|but|also|please|btw|by the way|fyi|just so you know|for the record|另外|还有|对了|顺便说一下|你好|您好|はい|ちなみに|あと|それと|참고로|그리고|안녕하세요)[\\s,，、!！:]*)+/i':
    SENTENCE,
  "/[,;，；、。](?:\\s*(?:and|but)\\b)?\\s*(?=(?:i|i'm|my|please|always|never|call|remember)\\b|我|请|請|私|저는|제)|\\s(?:and|but)\\s(?=(?:i|i'm|my|please|always|never)\\b)/i":
    SENTENCE,
  '/[\\s.!。！…~～]+$/': SENTENCE,
  "/^(?:you can |please )?call me (?!when|if|back|later|tomorrow|today|at|on|in|crazy|a|an|the|stupid|old|asap)[\\p{Lu}\\p{Lo}][\\p{L}.'-]{0,30}(?: [\\p{Lu}][\\p{L}.'-]{0,30})?$/iu":
    SENTENCE,
  "/^i (?:(?:really|also|generally|usually|always|strongly|still|much) )*(?:prefer|like|love|enjoy|hate|dislike|(?:do not|don't) like|can(?:'t|not) stand) (\\S.*)$/i":
    SENTENCE,
  '/^(?:from now on|in (?:the )?future|going forward),? (?:please )?(?:always |never )?(\\S.{3,})$/i': SENTENCE,
  '/^(?:请|請)?(?:务必|一定要?)?(?:记住|記住|记得|記得)[：:,，]?\\s*(.{2,})$/': SENTENCE,
  '/^(?:以后|以後|今后|今後|从现在开始)[,，]?(?:请|請)?(?:都|总是|總是|一律|不要再?|别再?)*(.{2,})$/': SENTENCE,
  '/([0-9a-f]{8}-[0-9a-f-]{27})(?:_([0-9a-f-]{36}))?$/i': `${NAMED} Each place is compared with at most 73 characters.`,
  '/\\.(?:jsonl|json)(?:\\.[\\w-]+)?\\.tmp$|\\.(?:jsonl|json)\\.tmp[\\w.-]*$/i': NAMED,
  '/(?:^|\\/)[0-9a-f]{2}\\/[a-z0-9-]{0,24}-[0-9a-f]{32}$/': NAMED,
  '/(?:\\.(?:jsonl?|ndjson|zst|gz|tmp|bak))+$/i': NAMED,
  '/^(.*[aeiouy].*?)(?:ed|ing|ers?|ly)$/': 'A word of at most 40 letters (`words.ts`).',
  '/(?:(\\d+)|"),"crc":"[0-9a-f]{8}"\\}$/': 'The last 64 bytes of a line.',
  "new RegExp([...BY_ANCHOR.keys()].map((anchor) => anchor.replace(/[.*+?^${}()|[\\]\\\\/-]/g, '\\\\$&')).join('|'), 'g')":
    'Alternatives of fixed texts.',
  'new RegExp(`(?:^|; *)${COOKIE}=([^;]+)`)': 'A header of at most 16 KiB. Each run of blanks follows a semicolon.',
}
