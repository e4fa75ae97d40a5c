import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const MONITORING = join(__dirname, '..', '..', '..', 'docs', 'monitoring');

/** A query of the dashboard or of an alert. */
export interface Query {
  /** Title of the panel, or name of the alert. */
  readonly of: string;
  readonly expression: string;
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
export interface Dashboard {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] };
}

export function dashboard(): Dashboard {
  return JSON.parse(readFileSync(join(MONITORING, 'grafana-dashboard.json'), 'utf8')) as Dashboard;
}

/** Queries of all panels, as Prometheus gets them. */
export function panelQueries(): (Query & { readonly legend: string })[] {
  return dashboard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      of: title,
      expression: expr.replaceAll('$__rate_interval', '1m').replaceAll('$job', '.*'),
      legend: legendFormat,
    })),
  );
}

/** Queries of all alerts. Each is on one line. */
export function alertQueries(): (Query & { readonly annotations: string })[] {
  const text = readFileSync(join(MONITORING, 'alerts.yml'), 'utf8');
  return text
    .split(/^ {6}- alert: /m)
    .slice(1)
    .map((rule) => ({
      of: rule.split('\n', 1)[0] ?? '',
      expression: /^ {8}expr: (.*)$/m.exec(rule)?.[1] ?? '',
      annotations: rule.slice(rule.indexOf('annotations:')),
    }));
}
