// The alerts as Prometheus loads them.
import { stringify } from 'yaml';
import type { Alert } from './alerts.ts';

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: Record<string, string>;
  annotations: { summary: string; description: string };
}

/** `A service is down` is the alert `AServiceIsDown`. */
const nameOf = (title: string): string =>
  title
    .split(' ')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');

const ruleOf = (alert: Alert, expr: string, service?: string): Rule => ({
  alert: nameOf(alert.title),
  expr,
  for: alert.for,
  labels: { severity: alert.severity, ...(service === undefined ? {} : { service }) },
  annotations: {
    summary: service === undefined ? alert.title : `${alert.title}: ${service}`,
    description: alert.advice,
  },
});

export function rulesFile(alerts: readonly Alert[], services: readonly string[]): string {
  const rules = alerts.flatMap((alert) => {
    const { expression } = alert;
    return typeof expression === 'string'
      ? [ruleOf(alert, expression)]
      : services.map((service) => ruleOf(alert, expression(service), service));
  });
  const head =
    '# The alerts of docs/monitoring.md, for rule_files of Prometheus. npm run docs writes this file from dev/docs/operating.\n';
  return head + stringify({ groups: [{ name: 'integration-sync', rules }] }, { lineWidth: 0 });
}
