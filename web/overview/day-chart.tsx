/** One number for each day, as bars. */
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import { short } from '../shell/format.ts'
import 'uplot/dist/uPlot.min.css'

interface DayChartProps {
  readonly label: string
  readonly days: readonly { readonly day: string; readonly value: number }[]
}

const HEIGHT_PX = 150
const SHOWN_DAYS = 90
const DAY_SECONDS = 86_400

export function DayChart({ label, days }: DayChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const key = JSON.stringify(days)
  useEffect(() => {
    const element = place.current
    if (element === null) return
    const [times, values] = series(JSON.parse(key) as DayChartProps['days'])
    const draw = (): uPlot => new uPlot(options(label, element), [times, values], element)
    let chart = draw()
    const redraw = (): void => {
      chart.destroy()
      chart = draw()
    }
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT_PX }))
    resized.observe(element)
    // Colours are of the theme, and a canvas keeps those that it was drawn with.
    const themed = new MutationObserver(redraw)
    themed.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', redraw)
    return () => {
      resized.disconnect()
      themed.disconnect()
      scheme.removeEventListener('change', redraw)
      chart.destroy()
    }
  }, [key, label])
  const last = days.at(-1)
  return <div ref={place} className="chart" role="img" aria-label={`${label} per day; ${last?.day}: ${last?.value}`} />
}

/** Days without anything are none in what the server tells, and nothing in the chart. */
function series(days: DayChartProps['days']): [number[], number[]] {
  const known = new Map(days.map(({ day, value }) => [Date.parse(day) / 1000, value]))
  const end = Math.floor(Date.now() / 1000 / DAY_SECONDS) * DAY_SECONDS
  const begin = Math.max(Math.min(...known.keys(), end - 6 * DAY_SECONDS), end - (SHOWN_DAYS - 1) * DAY_SECONDS)
  const times = Array.from({ length: (end - begin) / DAY_SECONDS + 1 }, (_, index) => begin + index * DAY_SECONDS)
  return [times, times.map((time) => known.get(time) ?? 0)]
}

function options(label: string, element: HTMLElement): uPlot.Options {
  // What a variable comes to is known only where it is used.
  const probe = document.createElement('span')
  element.append(probe)
  const colour = (name: string): string => {
    probe.style.color = `var(${name})`
    return getComputedStyle(probe).color
  }
  const [dim, line, accent] = ['--dim', '--line', '--accent'].map(colour) as [string, string, string]
  probe.remove()
  const axis = { stroke: dim, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: '11px system-ui' }
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      // Half a day on either side, so that no bar is cut.
      x: { time: true, range: (_, first, last) => [first - DAY_SECONDS / 2, last + DAY_SECONDS / 2] },
      y: { range: (_, __, most) => [0, Math.max(most, 1) * 1.1] },
    },
    axes: [
      { ...axis, grid: { show: false } },
      { ...axis, size: 46, values: (_, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? short(tick) : '')) },
    ],
    series: [
      {},
      {
        label,
        fill: accent,
        width: 0,
        ...(uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.7, 40] }) } : {}),
        points: { show: false },
      },
    ],
  }
}
