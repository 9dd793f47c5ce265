// Bar plots as a few SVG rectangles, without a library; the label says their content for people who do not see them.

export interface Bar {
  key: string;
  title: string;
  /** Stacked from the bottom. `share` is the share of the plot's height, 0 to 1. */
  parts: readonly { kind: string; share: number }[];
  href?: string;
}

const width = 1_000;
const height = 100;
const gap = 2;

export function Bars({ label, bars, slots }: { label: string; bars: readonly Bar[]; slots: number }) {
  const step = width / slots;
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <line class="base" x1="0" x2={width} y1={height} y2={height} />
      {bars.map(({ key, title, parts, href }, index) => {
        const x = width - (bars.length - index) * step;
        return (
          <g
            key={key}
            class={href === undefined ? '' : 'leads'}
            onClick={() => href && location.assign(href)}
          >
            <title>{title}</title>
            <rect class="hit" x={x} y="0" width={step} height={height} />
            {stacked(parts).map(({ kind, y, tall }) => (
              <rect key={kind} class={kind} x={x + gap / 2} y={y} width={step - gap} height={tall} />
            ))}
          </g>
        );
      })}
    </svg>
  );
}

function stacked(parts: Bar['parts']): { kind: string; y: number; tall: number }[] {
  let top = height;
  return parts
    .filter(({ share }) => share > 0)
    .map(({ kind, share }) => {
      const tall = Math.max(share * height, 2);
      top -= tall;
      return { kind, y: Math.max(top, 0), tall };
    });
}

/** The legend of a plot's colours. */
export function Legend({ kinds }: { kinds: readonly (readonly [kind: string, words: string])[] }) {
  return (
    <ul class="legend">
      {kinds.map(([kind, words]) => (
        <li key={kind}>
          <span class={`swatch ${kind}`} />
          {words}
        </li>
      ))}
    </ul>
  );
}
