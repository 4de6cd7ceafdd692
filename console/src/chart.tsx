/** Moves a second over the last minute. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { number } from './logic/words.ts';

export default function Chart({ moves, end }: { moves: number[]; end: number }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const data = (): uPlot.AlignedData => [moves.map((_, i) => Math.floor(end / 1000) - moves.length + i), moves];
  useEffect(() => {
    const made = box.current;
    if (!made) return undefined;
    const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    const draw = () => {
      plot.current?.destroy();
      const axis = { stroke: css('--dim'), grid: { stroke: css('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui' };
      plot.current = new uPlot({
        width: made.clientWidth, height: 150, legend: { show: false }, cursor: { points: { size: 6 } }, padding: [8, 4, 0, 0],
        scales: { y: { range: (_, __, most) => [0, Math.max(4, most * 1.15)] } },
        axes: [
          { ...axis, space: 70, size: 26, values: (_, splits) => splits.map((s) => new Date(s * 1000).toLocaleTimeString('en-GB')) },
          { ...axis, size: 38, space: 34, values: (_, splits) => splits.map((s) => (Number.isInteger(s) ? number(s) : '')) },
        ],
        series: [{}, {
          stroke: css('--moving'), width: 1.5, fill: `${css('--moving-soft')}`, points: { show: false },
          paths: uPlot.paths.bars!({ size: [0.7, 12] }),
        }],
      }, data(), made);
    };
    draw();
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: made.clientWidth, height: 150 }));
    resize.observe(made);
    const theme = new MutationObserver(draw);
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => { resize.disconnect(); theme.disconnect(); plot.current?.destroy(); plot.current = null; };
  }, []);
  useEffect(() => { plot.current?.setData(data()); }, [moves]);
  const most = Math.max(0, ...moves);
  return <div ref={box} class="chart" role="img" aria-label={`Moves a second over the last minute, at most ${number(most)}`} />;
}
