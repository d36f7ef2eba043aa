package com.acme;

import com.google.common.collect.ArrayListMultimap;
import com.google.common.collect.Multimap;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.pulsar.broker.ServiceConfiguration;
import org.apache.pulsar.broker.loadbalance.LoadData;
import org.apache.pulsar.broker.loadbalance.LoadSheddingStrategy;
import org.apache.pulsar.policies.data.loadbalancer.BrokerData;
import org.apache.pulsar.policies.data.loadbalancer.LocalBrokerData;
import org.apache.pulsar.policies.data.loadbalancer.NamespaceBundleStats;

/** An OverloadShedder that takes all that it knows of bundles from the brokers' reports, and checks it. */
public class LastStatsShedder implements LoadSheddingStrategy {
    @Override
    public Multimap<String, String> findBundlesForUnloading(LoadData load, ServiceConfiguration conf) {
        Multimap<String, String> chosen = ArrayListMultimap.create();
        double threshold = conf.getLoadBalancerBrokerOverloadedThresholdPercentage() / 100.0;
        load.getBrokerData().forEach((broker, data) -> {
            LocalBrokerData local = data.getLocalData();
            check(load, data);
            double usage = Math.max(local.getMaxResourceUsage(), local.getMemory().percentUsage() / 100.0);
            double excess = usage - threshold;
            if (excess < 0 || local.getNumBundles() < 2) {
                return;
            }
            double need = (excess + 0.05) * (local.getMsgThroughputIn() + local.getMsgThroughputOut());
            List<String> bundles = new ArrayList<>(local.getLastStats().keySet());
            bundles.removeIf(load.getRecentlyUnloadedBundles()::containsKey);
            bundles.sort(Comparator.comparingDouble(bundle -> -traffic(local.getLastStats().get(bundle))));
            double gone = 0;
            for (String bundle : bundles) {
                if (gone >= need && chosen.containsKey(broker)) {
                    break;
                }
                chosen.put(broker, bundle);
                gone += traffic(local.getLastStats().get(bundle));
            }
        });
        return chosen;
    }

    private static double traffic(NamespaceBundleStats stats) {
        return stats.msgThroughputIn + stats.msgThroughputOut;
    }

    private static void check(LoadData load, BrokerData data) {
        LocalBrokerData local = data.getLocalData();
        same("bundles", local.getBundles().size(), local.getLastStats().size());
        same("numBundles", local.getBundles().size(), local.getNumBundles());
        same("numTopics", local.getLastStats().values().stream().mapToLong(one -> one.topics).sum(),
                local.getNumTopics());
        double messages = 0;
        double longTerm = 0;
        for (String bundle : local.getBundles()) {
            messages += local.getLastStats().get(bundle).msgRateIn;
            longTerm += load.getBundleData().get(bundle).getLongTermData().getMsgRateIn();
        }
        same("short-term messages", messages, data.getTimeAverageData().getShortTermMsgRateIn());
        same("long-term messages", longTerm, data.getTimeAverageData().getLongTermMsgRateIn());
    }

    private static void same(String what, double expected, double found) {
        if (Math.abs(expected - found) > 1e-6 * Math.max(1, Math.abs(expected))) {
            throw new IllegalStateException(what + ": " + found + " instead of " + expected);
        }
    }
}
