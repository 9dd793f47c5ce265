// The metadata of a subject in `nats micro info`, for an operator who inspects the replicas of a service.
import { requestHeaders } from './message-headers.ts';
import { pointerInOpenapi, routes, type Route } from './routes/index.ts';
import { pinnableSubjects, pinnedSubject } from './subjects.ts';

export function endpointMetadata(subject: string): Record<string, string> {
  const route = routes.find((one) => one.subject === subject);
  if (route === undefined) return { 'asked-by': 'services of this system' };
  const isOpen = pinnableSubjects.some((one) => one === subject);
  return {
    'asked-by': isOpen ? 'any service inside whose login may' : 'the gateway',
    changes: route.method === 'GET' || route.path.endsWith('/plan') ? 'nothing' : 'something',
    headers: headersOf(route).join('; '),
    schema: `/${pointerInOpenapi(route)}`,
    ...(isOpen ? { 'of-one-integration': pinnedSubject(subject, '<integration>') } : {}),
  };
}

const headersOf = ({ path, query }: Route): string[] => [
  `${requestHeaders.integration}: its name`,
  ...(path.includes('{id}') ? [`${requestHeaders.id}: that of the path`] : []),
  ...(path.includes('{eventId}') ? [`${requestHeaders.eventId}: that of the path`] : []),
  ...(query === undefined ? [] : [`${requestHeaders.query}: as in the URL, may be absent`]),
];
