/** A few strokes each; they take the colour of the text. */
const PATHS = {
  search: 'M11 11l4 4M12 7A5 5 0 1 1 2 7a5 5 0 0 1 10 0z',
  sun: 'M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1M11 8a3 3 0 1 1-6 0 3 3 0 0 1 6 0z',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.500a6 6 0 1 0 7 7z',
  auto: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
  copy: 'M5.500 5.500h8v8h-8zM3 10.500h-.5v-8h8V3',
  link: 'M6.500 9.500l3-3M7 4.500l1.500-1.500a2.800 2.800 0 0 1 4 4L11 8.500M9 11.500L7.500 13a2.800 2.800 0 0 1-4-4L5 7.500',
  fork: 'M4 5v6M4 8h4a4 4 0 0 0 4-3M4 3.500a1 1 0 1 0 0 .010zM4 12.500a1 1 0 1 0 0 .010zM12 3.500a1 1 0 1 0 0 .010z',
  back: 'M10 3L5 8l5 5',
  down: 'M3.500 6L8 10.500 12.500 6',
  right: 'M6 3.500L10.500 8 6 12.500',
  more: 'M3 8h.01M8 8h.01M13 8h.01',
  undo: 'M3 6h7a3.500 3.500 0 0 1 0 7H6M3 6l3-3M3 6l3 3',
  code: 'M5.500 4.500L2 8l3.500 3.500M10.500 4.500L14 8l-3.500 3.500',
  erase: 'M6 13.500h7.500M2.500 9.500l6-6 4.500 4.500-5.500 5.500h-2.500zM5.500 6.500l4.500 4.500',
  flag: 'M4 14V2.500h8l-2 3 2 3H4',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}
