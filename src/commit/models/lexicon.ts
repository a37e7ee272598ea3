/**
 * Words that tell what a sentence does. They are looked up by a hash that the scanner computes while it reads, so that no sentence is
 * searched once for each word. Of scripts without spaces the terms are pairs of characters, which is why their words below have two.
 */

const IGNORED = 1
export const ERROR = 2
export const FIX = 4
export const DECISION = 8
export const REQUEST = 16
export const CORRECTION = 32
/** May be worth remembering; the rules of memories decide. */
export const PERSONAL = 64

const WORDS: readonly (readonly [flag: number, words: string])[] = [
  [
    IGNORED,
    `a about after all also am an and any are as at be because been before being but by can could did do does doing don't down for from
    get got had has have having he her here him his how i i'd i'll i'm i've if in into is it it's its just let like make me more most my no
    not now of off on one only or other our out over own she should so some such than that that's the their them then there these they
    this those through to too under up us very was we well were what when where which while who why will with would yes you your
    的是 是一 一个 这个 那个 我们 你们 他们 可以 没有 就是 不是 什么 怎么 です ます した して から ので こと もの よう 합니 니다 습니 하는 있는 그리 입니`,
  ],
  [
    ERROR,
    `error errors exception exceptions failed fails failing failure failures traceback crash crashed crashes panic panicked fatal segfault
    broken typeerror referenceerror syntaxerror rangeerror valueerror keyerror attributeerror importerror indexerror nameerror oserror
    ioerror runtimeerror assertionerror modulenotfounderror filenotfounderror permissionerror zerodivisionerror nullpointerexception
    illegalargumentexception enoent eacces econnrefused econnreset etimedout enospc
    错误 錯誤 报错 報錯 失败 失敗 异常 異常 崩溃 崩潰 出错 出錯 エラ 例外 不具 오류 에러 실패 예외 버그`,
  ],
  [
    FIX,
    `fix fixed fixes fixing resolved resolves solved solves corrected corrects repaired worked works passes passed succeeded patched mended
    修复 修復 解决 解決 修正 已改 改好 直し 直り 成功 해결 수정 고쳤 성공`,
  ],
  [
    DECISION,
    `decided decide decision agreed agree conclude concluded conclusion chose chosen choose settled must shall therefore requirement required
    deadline important result found because means turned
    决定 決定 决策 结论 結論 确定 確定 采用 採用 必须 必須 同意 选择 選択 選擇 重要 要求 合意 결정 결론 합의 선택 중요 필요 반드`,
  ],
  [
    REQUEST,
    `please need want wants help implement add create write build fix explain show find change update remove delete refactor plan review
    summarize summarise translate compare investigate debug rename replace deploy test let's how
    帮我 幫我 请帮 请你 請你 需要 想要 如何 怎么 怎麼 实现 實現 修改 添加 增加 创建 ください たい 欲し お願 教え 作っ 直し 해주 해줘 주세 싶어 싶습 부탁 필요`,
  ],
  [
    CORRECTION,
    `wrong incorrect actually instead rather mistake mistaken misunderstood
    不对 不對 错了 錯了 改成 改为 換成 换成 違う 違い 間違 아니 틀렸 대신`,
  ],
  [
    PERSONAL,
    `my call remember forget prefer prefers always never love enjoy hate dislike i'm live work longer anymore from allergic like mind usually
    我叫 名字 叫我 记住 記住 记得 記得 喜欢 喜歡 讨厌 討厭 偏好 住在 来自 來自 工作 一名 总是 總是 始终 始終 永远 永遠 以后 以後 今后 今後 不再 忘掉 忘记 忘記 过敏 過敏
    名前 呼ん 好き 嫌い 苦手 住ん 覚え 必ず 常に いつ 絶対 今後 これ 忘れ 申し 勤め 働い 이름 불러 좋아 싫어 선호 기억 항상 절대 살아 살고 삽니 잊어 앞으 더는`,
  ],
]

const SLOTS = 1 << 14
const HASHES = new Int32Array(SLOTS)
/** By the slot that a word's term is, or one behind it: 0 where no word is. */
export const FLAGS = new Uint8Array(SLOTS)

const TERMS = 1 << 14

/** The next value of a hash, for one more character. A text's hash begins with 0. */
export function hashed(hash: number, code: number): number {
  return (Math.imul(hash, 31) + code) | 0
}

/** Small enough to be the index of a table of counts. */
function termOf(hash: number): number {
  return (hash ^ (hash >>> 14)) & (TERMS - 1)
}

/** What is known of the word with this hash, and the term that comes of it. */
export function flagsOf(hash: number, term: number): number {
  let slot = term
  while (FLAGS[slot] !== 0) {
    if (HASHES[slot] === hash) return FLAGS[slot] as number
    slot = (slot + 1) & (SLOTS - 1)
  }
  return 0
}

function learn(word: string, flag: number): void {
  let hash = 0
  for (let i = 0; i < word.length; i++) hash = hashed(hash, word.charCodeAt(i))
  let slot = termOf(hash)
  while (FLAGS[slot] !== 0 && HASHES[slot] !== hash) slot = (slot + 1) & (SLOTS - 1)
  HASHES[slot] = hash
  FLAGS[slot] = (FLAGS[slot] as number) | flag
}

for (const [flag, words] of WORDS) {
  for (const word of words.split(/\s+/)) {
    // Of longer words in these scripts the first pair tells enough.
    if (/^[\u3040-\ud7ff]/.test(word)) learn(word.slice(0, 2), flag)
    else {
      learn(word, flag)
      // The scanner folds every letter by one bit, which turns this apostrophe into another character.
      if (word.includes("'")) learn(word.replace("'", '\u2039'), flag)
    }
  }
}
