import { METRICS } from '../src/metrics.definitions';
import type { Metric } from '../src/metrics.types';
import { alertQueries, dashboard, panelQueries } from './monitoring';

/** Words of PromQL that look like names of labels. */
const KEYWORDS = new Set(['by', 'le', 'job']);

const underscored = (name: string): string => name.replaceAll('.', '_');

/** The series that Prometheus has of a metric, by the rules of OpenTelemetry for names, units and kinds. */
function seriesOf([name, { kind, unit }]: [string, Metric]): string[] {
  const base = underscored(name) + (unit === 's' ? '_seconds' : '');
  if (kind === 'counter') return [`${base}_total`];
  return kind === 'histogram' ? ['_bucket', '_sum', '_count'].map((part) => base + part) : [base];
}

const labelsOf = new Map(
  Object.entries(METRICS as Readonly<Record<string, Metric>>).flatMap((entry) =>
    seriesOf(entry).map((series) => [series, entry[1].attributes.map(underscored)] as const),
  ),
);

/** Names in an expression: its series, and its labels, which are all other names. */
function namesIn(expression: string): { series: string[]; labels: string[] } {
  const names = [...expression.replaceAll(/"[^"]*"/g, '').matchAll(/\b(luanest_\w+|error_type)\b/g)].map(
    ([name]) => name,
  );
  const series = names.filter((name) => labelsOf.has(name));
  return { series, labels: names.filter((name) => !labelsOf.has(name) && !KEYWORDS.has(name)) };
}

const QUERIES = [...panelQueries(), ...alertQueries()];

it('are all read', () => {
  expect(panelQueries().length).toBeGreaterThan(25);
  expect(alertQueries().length).toBeGreaterThan(10);
  expect(QUERIES.map(({ expression }) => expression)).not.toContain('');
});

it.each(QUERIES.map(({ of, expression }) => [of, expression]))('%s: %s', (_of, expression) => {
  const { series, labels } = namesIn(expression);
  expect(series).toHaveLength(1);
  const allowed = labelsOf.get(series[0] as string) ?? [];
  expect(labels.filter((label) => !allowed.includes(label))).toEqual([]);
  // A counter is only used by its rate or increase, and a bucket with `le`.
  if (/_(total|bucket|count)$/.test(series[0] as string)) expect(expression).toMatch(/(rate|increase)\(/);
  if (expression.includes('_bucket')) expect(expression).toMatch(/\ble\) \(rate/);
});

it('legends and annotations name labels that their query keeps', () => {
  const grouped = (expression: string): string[] => (/by \(([^)]*)\)/.exec(expression)?.[1] ?? '').split(/, */);
  for (const { of, expression, legend } of panelQueries()) {
    const used = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string);
    expect({ of, missing: used.filter((label) => !grouped(expression).includes(label)) }).toEqual({ of, missing: [] });
  }
  for (const { of, expression, annotations } of alertQueries()) {
    const used = [...annotations.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label as string);
    expect({ of, missing: used.filter((label) => !grouped(expression).includes(label)) }).toEqual({ of, missing: [] });
    expect(annotations).toMatch(/description: '.+'/);
  }
});

it('each metric of a failure has a panel or an alert', () => {
  const used = new Set(QUERIES.flatMap(({ expression }) => namesIn(expression).series));
  const wanted = [
    'luanest_script_call_errors_total',
    'luanest_rate_limit_redis_failures_total',
    'luanest_stream_dead_letters_total',
  ];
  expect(wanted.filter((series) => !used.has(series))).toEqual([]);
});

it('the choices of the dashboard come from a metric that is there', () => {
  const queries = dashboard().templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query));
  const [labels = ''] = queries.filter((query) => query.startsWith('label_values'));
  expect(namesIn(labels).series).toHaveLength(1);
});
