// Keeps the site for a reader without a line: all that its pages need, but for
// the machines, which their figures keep when they have fetched them. FILES has
// the digest of each, so what is kept is of one version; offline.py fills it in.
importScripts("workbox/workbox-sw.js");
workbox.setConfig({ debug: false, modulePathPrefix: "workbox/" });

const FILES = {};

self.skipWaiting();
workbox.core.clientsClaim();
workbox.precaching.cleanupOutdatedCaches();
workbox.precaching.precacheAndRoute(
  Object.entries(FILES).map(([url, digest]) => ({
    url,
    revision: digest,
    integrity: `sha256-${digest}`,
  })),
  { cleanURLs: false, ignoreURLParametersMatching: [/./] },
);
