/** Which clauses are worth remembering, and what each is about. Clauses are short, and every pattern begins at the first character. */

export interface Topic {
  readonly category: 'profile' | 'preference' | 'instruction' | 'fact'
  readonly name: string
}

export interface Rule {
  readonly pattern: RegExp
  /** Undefined: it looked like one, and is none. */
  readonly topic: (match: RegExpExecArray) => Topic | undefined
}

const profile = (pattern: RegExp, name: string): Rule => ({ pattern, topic: () => ({ category: 'profile', name }) })

/** Words that point at something in the conversation, which nobody will see later. */
const POINTING =
  /^(?:it|this|that|these|those|them|how|what|when|where|why|your|his|her|their|to see|seeing|the (?:idea|first|second|third|last|new|old|other|way|approach|one|option|version|look|sound|fact))\b|\b(?:option|version|approach|one)s?$|^(?:你|您|这|這|那|它|第)|^(?:これ|それ|あれ|この|その|あの|あなた)|^(?:이것|그것|저것|이거|그거|이 |그 |저 )/i
const ARTICLES = /^(?:a|an|the|my|to|using|use|really|very)\s/i
const LANGUAGES =
  /\b(?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|ukrainian|turkish|arabic|hebrew|hindi|chinese|mandarin|japanese|korean|vietnamese|thai|swedish|norwegian|danish|finnish|czech|greek)\b|[中英日韩韓法德俄]文|(?:中国|日本|韓国|英|独|仏)語|[汉漢英日韩法德俄]语|한국어|영어|일본어|중국어/i

function preference(what: string | undefined): Topic | undefined {
  const [liked = '', other] = (what ?? '')
    .split(/\s(?:over|to|rather than|instead of|more than)\s|而不是|胜过|胜于|勝過|よりも?|보다/i)
    .map(bare)
  if (liked === '' || POINTING.test((what ?? '').trim())) return undefined
  // Of two that are weighed against each other the order is the answer, not the topic.
  return { category: 'preference', name: other === undefined || other === '' ? liked : [liked, other].sort().join(' / ') }
}

function instruction(what: string | undefined): Topic | undefined {
  const text = bare(what ?? '')
  if (/^(?:mind|again|ever|happened|had|seen|been|heard|worked|works)\b/.test(text)) return undefined
  const speaks =
    /^(?:answer|reply|respond|write|speak|talk)\b|回答|回复|回覆|答复|答えて|話して|書いて|返事|回答して|대답|답변|답해|말해/.test(text)
  return { category: 'instruction', name: speaks && LANGUAGES.test(text) ? 'language of answers' : text }
}

/** What is remembered about something: the topic is what stands before the verb. */
function fact(what: string | undefined): Topic | undefined {
  const text = what ?? ''
  for (const { pattern, topic } of SPECIFIC) {
    const match = pattern.exec(text)
    const found = match === null ? undefined : topic(match)
    if (found !== undefined) return found
  }
  const name = bare(
    text.split(
      /\s(?:is|are|was|were|has|have|must|should|will|can|uses?|needs?|lives?|runs?)\s|[:=：＝]|是|有|在|は|が|은 |는 |이 |가 /i,
    )[0] ?? '',
  )
  return name === '' || POINTING.test(text) ? undefined : { category: 'fact', name }
}

/** In small letters, without article and ornament, at most eight words. */
function bare(text: string): string {
  let rest = text
    .toLowerCase()
    .replace(/["'`“”「」『』*]/g, '')
    .trim()
  while (ARTICLES.test(rest)) rest = rest.replace(ARTICLES, '')
  return rest.split(/\s+/).slice(0, 8).join(' ')
}

const SPECIFIC: readonly Rule[] = [
  profile(/^my (?:full |first |last )?name(?:'s| is) (?!not\b|unknown\b$|on\b|in\b)\S/i, 'name'),
  profile(/^my name is unknown$/i, 'name'),
  profile(
    /^(?:you can |please )?call me (?!when|if|back|later|tomorrow|today|at|on|in|crazy|a|an|the|stupid|old|asap)[\p{Lu}\p{Lo}][\p{L}.'-]{0,30}(?: [\p{Lu}][\p{L}.'-]{0,30})?$/iu,
    'nickname',
  ),
  profile(/^i (?:live|reside) in \S/i, 'location'),
  profile(/^i(?:'m| am) (?:based|living|located) in \S/i, 'location'),
  profile(/^(?:i(?:'m| am)|i come) (?:originally )?from \p{Lu}/iu, 'origin'),
  profile(/^i work (?:at|for) \p{Lu}/iu, 'employer'),
  profile(/^i work as an? \S/i, 'occupation'),
  profile(
    /^i(?:'m| am) an? (?:[\w-]+ ){0,4}(?:accountant|analyst|architect|artist|chef|consultant|designer|developer|doctor|economist|engineer|founder|journalist|lawyer|manager|musician|nurse|photographer|physicist|pilot|programmer|researcher|scientist|student|teacher|translator|writer)\b/i,
    'occupation',
  ),
  {
    pattern:
      /^my (birthday|email(?: address)?|e-mail|phone(?: number)?|time ?zone|pronouns|job|address|hometown|native language|mother tongue|(?:wife|husband|partner|son|daughter|dog|cat|boss|manager)(?:'s name)?) (?:is|are) (?!not\b)\S/i,
    topic: ([, name = '']) => ({ category: 'profile', name: name.toLowerCase() }),
  },
  {
    pattern: /^my (?:favou?rite|preferred) ([\w -]{2,40}?) (?:is|are) (?!not\b)\S/i,
    topic: ([, name]) => ({ category: 'preference', name: `favourite ${bare(name ?? '')}` }),
  },
  { pattern: /^i(?:'m| am) allergic to (\S.*)$/i, topic: ([, what]) => ({ category: 'profile', name: `allergy to ${bare(what ?? '')}` }) },
  {
    pattern:
      /^i (?:(?:really|also|generally|usually|always|strongly|still|much) )*(?:prefer|like|love|enjoy|hate|dislike|(?:do not|don't) like|can(?:'t|not) stand) (\S.*)$/i,
    topic: ([, what]) => preference(what),
  },
  { pattern: /^i (?:always|usually|never) (?:use|drink|eat|write|wear|work) (\S.*)$/i, topic: ([, what]) => preference(what) },
  profile(/^我(?:的名字)?(?:叫|是叫)(?!做|了|他|她|它|你|人)\S/, 'name'),
  profile(/^我的名字是\S/, 'name'),
  profile(/^(?:你)?(?:可以)?(?:请|請)?叫我[^\s,，去来做]{1,12}$/, 'nickname'),
  profile(/^我(?:现在|現在)?住在\S/, 'location'),
  profile(/^我(?:来自|來自)\S/, 'origin'),
  profile(/^我在.{2,30}(?:工作|上班)$/, 'employer'),
  profile(/^我是(?:一)?(?:名|个|個|位).{0,12}(?:师|師|员|員|生|家|者|医生|经理|經理)$/, 'occupation'),
  { pattern: /^我的(生日|邮箱|郵箱|电话|電話|时区|時區|职业|職業)是/, topic: ([, name = '']) => ({ category: 'profile', name }) },
  { pattern: /^我对(.{1,20})过敏/, topic: ([, what]) => ({ category: 'profile', name: `allergy to ${what ?? ''}` }) },
  {
    pattern: /^我(?:最|更|很|非常|特别|也|比较|還是|还是)*(?:不)?(?:喜欢|喜歡|偏好|热爱|讨厌|討厭|偏爱)(.+)$/,
    topic: ([, what]) => preference(what),
  },
  profile(/^(?:私|僕|俺|わたし)の名前は.{1,30}$/, 'name'),
  profile(/^(?:私は|僕は|わたしは)?[^はがを]{1,20}(?:と申します|といいます|と言います)$/, 'name'),
  profile(/^[^はがを]{1,20}(?:と|って)呼んで(?:ください)?$/, 'nickname'),
  profile(/^(?:私は|僕は|わたしは)?[^はがを]{1,20}に住んでいま?す$/, 'location'),
  profile(/^(?:私は|僕は|わたしは)?[^はがを]{1,30}(?:に勤めて|で働いて)いま?す$/, 'employer'),
  {
    pattern: /^(?:私は|僕は|わたしは)([^はをが]{1,30})(?:が|を|は)(?:とても|一番|あまり)?(?:大)?(?:好き|嫌い|苦手|好み)/,
    topic: ([, what]) => preference(what),
  },
  profile(/^(?:제|내) 이름은 \S/, 'name'),
  profile(/^(?:저를|나를)?\s?\S{1,20}(?:이)?라고 불러/, 'nickname'),
  profile(/^(?:저는|나는|전|난) \S{1,20}에(?:서)? (?:살|삽)/, 'location'),
  {
    pattern: /^(?:저는|나는|전|난) (.{1,30}?)(?:을|를|이|가) (?:정말 |아주 |제일 |더 )?(?:좋아|싫어|선호)/,
    topic: ([, what]) => preference(what),
  },
]

export const RULES: readonly Rule[] = [
  ...SPECIFIC,
  {
    pattern: /^(?:please )?(?:remember|keep in mind|don't forget)(?: that|:)? (?!when\b|how\b|what\b|the time\b|me\b)(\S.{3,})$/i,
    topic: ([, what]) => fact(what),
  },
  {
    pattern: /^(?:from now on|in (?:the )?future|going forward),? (?:please )?(?:always |never )?(\S.{3,})$/i,
    topic: ([, what]) => instruction(what),
  },
  { pattern: /^(?:always|never|don't ever) (\S.{3,})$/i, topic: ([, what]) => instruction(what) },
  { pattern: /^(?:请|請)?(?:务必|一定要?)?(?:记住|記住|记得|記得)[：:,，]?\s*(.{2,})$/, topic: ([, what]) => fact(what) },
  {
    pattern: /^(?:以后|以後|今后|今後|从现在开始)[,，]?(?:请|請)?(?:都|总是|總是|一律|不要再?|别再?)*(.{2,})$/,
    topic: ([, what]) => instruction(what),
  },
  { pattern: /^(?:请|請)?(?:总是|總是|始终|始終|永远不要|永遠不要|永远|永遠)(.{2,})$/, topic: ([, what]) => instruction(what) },
  { pattern: /^(.{2,60}?)(?:こと)?(?:を|と|は)覚えて(?:おいて)?(?:ください)?$/, topic: ([, what]) => fact(what) },
  {
    pattern: /^(?:今後は?|これからは?|常に|必ず|いつも|絶対に)、?(.{3,60}?)(?:て|で)(?:ください)?$/,
    topic: ([, what]) => instruction(`${what ?? ''}て`),
  },
  { pattern: /^(.{2,60}?)(?:다는 |라는 )?(?:것|거|걸)?(?:을|를)? ?기억해 ?(?:줘|주세요|두세요)$/, topic: ([, what]) => fact(what) },
  { pattern: /^(?:항상|절대|앞으로는?) (.{3,60}?)(?:지 마)?(?:세요| ?주세요|해라)?$/, topic: ([, what]) => instruction(what) },
]
