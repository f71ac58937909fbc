// Each panel by itself: one that fails leaves its figure in place, and the others work.

openSheets().then(() => {
  const attempt = (start) => {
    try {
      return start();
    } catch (error) {
      console.error(error);
      return undefined;
    }
  };
  const map = attempt(startMap);
  if (data.walks) attempt(startWalks);
  attempt(startDenoising);
  if (data.kernels) attempt(startKernels);
  if (map) attempt(() => startWorst(map));
  document.documentElement.dataset.ready = 'true';
}, (error) => console.error(error));
